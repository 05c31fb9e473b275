package tickets.cosmos;

import com.azure.spring.data.cosmos.repository.CosmosRepository;
import com.azure.spring.data.cosmos.repository.Query;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collection;
import java.util.List;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.domain.Sort;
import org.springframework.data.repository.query.Param;

public interface Carts extends CosmosRepository<Cart, String> {
    List<Cart> findByCustomer(String customer);

    List<Cart> findByCustomer(String customer, Sort sort);

    Page<Cart> findByCustomer(String customer, Pageable pageable);

    Slice<Cart> findSliceByCustomer(String customer, Pageable pageable);

    List<Cart> findByCustomerAndTotalGreaterThanEqualOrderByTotalDesc(String customer, long total);

    List<Cart> findByCustomerAndTotalBetween(String customer, long least, long most);

    List<Cart> findByCustomerInAndTotalLessThan(Collection<String> customers, long total);

    List<Cart> findByCustomerAndCouponIsNull(String customer);

    List<Cart> findByCustomerAndCouponStartsWithIgnoreCase(String customer, String start);

    List<Cart> findByCustomerAndCouponContainingOrCustomerAndTotal(
            String customer, String part, String sameCustomer, long total);

    long countByCustomer(String customer);

    boolean existsByCustomerAndCoupon(String customer, String coupon);

    /** Returns those that it deleted. */
    List<Cart> deleteByCustomer(String customer);

    @Query("SELECT * FROM c WHERE c.customer = @customer AND EXISTS (SELECT VALUE l FROM l IN c.lines WHERE l.show = @show)")
    List<Cart> findWithShow(@Param("customer") String customer, @Param("show") String show);

    @Query("SELECT * FROM c WHERE c.customer = @customer")
    Page<Cart> findQueried(@Param("customer") String customer, Pageable pageable);

    @Query("SELECT * FROM c WHERE ARRAY_CONTAINS(@customers, c.customer) AND c.total > @total")
    List<Cart> findAbove(@Param("customers") List<String> customers, @Param("total") long total, Sort sort);

    @Query("SELECT VALUE SUM(c.total) FROM c WHERE c.customer = @customer")
    long sumOf(@Param("customer") String customer);

    @Query("SELECT VALUE COUNT(1) FROM c WHERE c.customer = @customer")
    long countOf(@Param("customer") String customer);

    @Query("SELECT l.show, SUM(l.count) AS count FROM c JOIN l IN c.lines WHERE c.customer = @customer GROUP BY l.show")
    List<JsonNode> countByShow(@Param("customer") String customer);
}
